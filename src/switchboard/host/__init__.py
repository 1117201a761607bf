"""Configuration, wiring, start and shutdown of the host: builds and connects, decides nothing."""
