"""HTTP on loopback: what can be asked there, who may ask, and how it is said."""
