"""What a recorder is made of."""
