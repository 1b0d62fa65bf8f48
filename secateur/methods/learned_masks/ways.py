"""The ways to keep a budget while masks are learnt, by name. No torch."""

SCHEDULE, LAGRANGIAN = "schedule", "lagrangian"
WAYS = (SCHEDULE, LAGRANGIAN)
