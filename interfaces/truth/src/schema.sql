-- Truth in tables. Plain SQL that PostgreSQL, YugabyteDB and CockroachDB know.
-- The frontier: all stamps to come of this epoch know these counters.
CREATE TABLE IF NOT EXISTS tw_epoch (one INT4 PRIMARY KEY, epoch BIGINT NOT NULL, frontier BIGINT[] NOT NULL);
CREATE TABLE IF NOT EXISTS tw_next (one INT4 PRIMARY KEY, chunk BIGINT NOT NULL);
-- The last group of each gate, its number among all groups of the epoch, and the vectors of its commits, merged.
CREATE TABLE IF NOT EXISTS tw_gate (epoch BIGINT, seat INT4, last_group BIGINT NOT NULL, number BIGINT NOT NULL, clock BIGINT[] NOT NULL,
    PRIMARY KEY (epoch, seat));
-- What each group touched: vectors, keys and moves of its commits, as bytes; and the last counter of its seat.
CREATE TABLE IF NOT EXISTS tw_group (epoch BIGINT, number BIGINT, seat INT4 NOT NULL, clock BIGINT[] NOT NULL, moves BOOLEAN NOT NULL, touched BYTEA NOT NULL,
    PRIMARY KEY (epoch, number));
CREATE TABLE IF NOT EXISTS tw_chunk (chunk BIGINT PRIMARY KEY, owner INT4 NOT NULL, version BIGINT NOT NULL, epoch BIGINT NOT NULL, moved BIGINT[]);
CREATE TABLE IF NOT EXISTS tw_log (epoch BIGINT, seat INT4, counter BIGINT, vector BIGINT[] NOT NULL, shards INT4[] NOT NULL, record BYTEA NOT NULL,
    PRIMARY KEY (epoch, seat, counter));
-- With the time at which a commit got its place, in microseconds since 1970; clusters of before have none for what they placed then.
CREATE TABLE IF NOT EXISTS tw_place (place BIGINT PRIMARY KEY, epoch BIGINT NOT NULL, seat INT4 NOT NULL, counter BIGINT NOT NULL, at_us BIGINT, UNIQUE (epoch, seat, counter));
-- What the log begins with: a place, how many records stand for everything up to it, and who made them. What the log has below is deleted little by little.
CREATE TABLE IF NOT EXISTS tw_cut (one INT4 PRIMARY KEY, base BIGINT NOT NULL, records BIGINT NOT NULL, maker TEXT NOT NULL, at_us BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS tw_base (maker TEXT, base BIGINT, number BIGINT, shards INT4[] NOT NULL, record BYTEA NOT NULL, PRIMARY KEY (maker, base, number));
-- Up to which counter commits of a seat may have been cut off.
CREATE TABLE IF NOT EXISTS tw_cut_seat (epoch BIGINT, seat INT4, counter BIGINT NOT NULL, PRIMARY KEY (epoch, seat));
-- Who follows the sequence, and how far each said that it is.
CREATE TABLE IF NOT EXISTS tw_follower (name TEXT PRIMARY KEY, place BIGINT NOT NULL, told_us BIGINT NOT NULL);
-- What is taken at each gate of limits that hold over all.
CREATE TABLE IF NOT EXISTS tw_usage (gate TEXT PRIMARY KEY, usage BYTEA NOT NULL, told_us BIGINT NOT NULL);
-- Who gave this cluster its first content, if anybody did.
CREATE TABLE IF NOT EXISTS tw_load (one INT4 PRIMARY KEY, loader TEXT NOT NULL);
INSERT INTO tw_epoch VALUES (1, 0, '{}') ON CONFLICT DO NOTHING;
INSERT INTO tw_next VALUES (1, 0) ON CONFLICT DO NOTHING;
INSERT INTO tw_cut VALUES (1, 0, 0, '', 0) ON CONFLICT DO NOTHING;
