"""For whom an action works, and who should get what."""
