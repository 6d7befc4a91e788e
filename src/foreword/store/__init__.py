"""Act two: items are stored. The contract is in `base`; `sqlite` is for one machine, `postgres` for teams."""
