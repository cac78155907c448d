"""Questions that others have put to attention heads since the paper of 2021."""
