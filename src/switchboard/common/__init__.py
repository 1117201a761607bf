"""Leaf values and small shared mechanisms. Imports nothing of the other rooms."""
