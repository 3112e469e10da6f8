-- Which process makes a call, or handles an event: what one held that has ended is free.
alter table pay_calls add column process text;
alter table pay_events add column process text;
