"""Call Intelligence (document 003): four tasks, their gates, the final score."""
