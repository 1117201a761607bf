"""Hosted terminals: their life, their identities, what they print, and the keeper that lets them outlive the host."""
