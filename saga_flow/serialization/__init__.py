"""Values, arguments and failures as text, and back; nothing is ever unpickled."""

from saga_flow.serialization.arguments import (
    Arguments,
    bind,
    decode_arguments,
    encode_arguments,
    resolve_results,
    result_annotation,
    signature_of,
)
from saga_flow.serialization.bounded import bounded, bounded_tail
from saga_flow.serialization.codec import MAX_PAYLOAD_BYTES, decode, encode
from saga_flow.serialization.failures import Failure, failure_of
from saga_flow.serialization.result import RESULT, ResultReference
from saga_flow.serialization.sealing import Codec
from saga_flow.serialization.text import tree_of

__all__ = [
    "MAX_PAYLOAD_BYTES",
    "RESULT",
    "Arguments",
    "Codec",
    "Failure",
    "ResultReference",
    "bind",
    "bounded",
    "bounded_tail",
    "decode",
    "decode_arguments",
    "encode",
    "encode_arguments",
    "failure_of",
    "resolve_results",
    "result_annotation",
    "signature_of",
    "tree_of",
]
