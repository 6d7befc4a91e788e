#!/bin/sh
# Makes Foreword's own user, whom row-level security binds, and its database. Run once, as a superuser.
set -eu
psql -v ON_ERROR_STOP=1 <<'SQL'
\set password `cat "$FOREWORD_PASSWORD_FILE"`
CREATE ROLE foreword LOGIN PASSWORD :'password';
CREATE DATABASE foreword OWNER foreword ENCODING 'UTF8' TEMPLATE template0;
\c foreword
CREATE EXTENSION vector;
SQL
