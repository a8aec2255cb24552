-- The two roles of a node's Postgres on Debian, and its database. Neither has a password: pg_hba.conf.
CREATE ROLE anchoring_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
CREATE ROLE anchoring_reader LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
CREATE DATABASE anchoring OWNER anchoring_owner;
REVOKE ALL ON DATABASE anchoring FROM PUBLIC;
GRANT CONNECT ON DATABASE anchoring TO anchoring_reader;
