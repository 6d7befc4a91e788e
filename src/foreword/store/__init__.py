"""Act two: items are kept. The contract is in `base`; `sqlite` keeps it on one machine."""
