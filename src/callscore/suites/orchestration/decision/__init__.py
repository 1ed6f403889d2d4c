"""The decision to call or to reject: FC, Reject or FAILED, compared with what was due."""
