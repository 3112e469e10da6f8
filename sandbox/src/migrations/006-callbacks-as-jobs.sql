-- Callbacks are jobs from now on. Those that waited here are lost: they were due within minutes, and nobody has a sandbox
-- for keeps.
drop table sandbox_callbacks;
