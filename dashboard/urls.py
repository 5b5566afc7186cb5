"""The addresses of the console."""

from __future__ import annotations

from django.urls import path
from django.views.generic import RedirectView

from dashboard.views import actions, detail, lists, themes

app_name = "saga_dashboard"

RUN = "instances/<str:instance_id>/runs/<uuid:run_id>/"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="saga_dashboard:runs"), name="home"),
    path("runs/", lists.runs, name="runs"),
    path("runs/<slug:view>/", lists.runs, name="runs"),
    path("find/", lists.find, name="find"),
    path("instances/<str:instance_id>/", detail.instance, name="instance"),
    path(RUN, detail.run, name="run"),
    path(f"{RUN}steps/<int:sequence>/", detail.step, name="step"),
    path(f"{RUN}actions/<slug:action>/", actions.act, name="action"),
    path("theme/", themes.choose, name="theme"),
]
