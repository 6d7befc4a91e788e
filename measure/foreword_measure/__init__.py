"""How well and how fast Foreword works. Works from a clone; it is not part of the wheel."""
