"""Where answers come from: model APIs, recordings, simulation, rules."""
