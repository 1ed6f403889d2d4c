"""What a user may set: options of scoring, the eval file, judges, models, gates."""
