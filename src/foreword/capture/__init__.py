"""Act one: the world becomes items. Everything here yields values; nothing is stored."""
