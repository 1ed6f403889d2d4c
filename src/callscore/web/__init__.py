"""The web app: `callscore serve` shows the runs of a store in a browser."""
