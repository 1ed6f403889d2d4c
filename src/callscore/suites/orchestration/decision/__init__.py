"""To call or not to call: FC, Reject or FAILED against what was due."""
