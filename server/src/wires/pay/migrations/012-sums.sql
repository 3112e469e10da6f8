-- What was paid and refunded in each quarter of an hour, when the ledger learned of it. Amounts of any length are kept as whole
-- numbers: `amount` times 10 to the power of 12 * `limb`, added up over limbs. Writers at the same time use several rows.
create table pay_sums (
  kind text not null check (kind in ('revenue', 'refunds')),
  quarter bigint not null,            -- quarters of an hour since 1970
  currency text not null,
  exponent integer not null,
  limb integer not null,
  writer integer not null,            -- 0 to 15, by the transaction
  amount bigint not null,             -- negative: less than the ledger had before
  primary key (kind, quarter, currency, exponent, limb, writer)
);

insert into pay_sums (kind, quarter, currency, exponent, limb, writer, amount)
select kind, at / 900000, currency, exponent, limb, 0,
  sum(cast(substr('000000000000000000000000000000000000000000000000000000000000000000000000000000000000' || amount, length(amount) + 1 + 12 * (6 - limb), 12) as bigint))
from (
  select 'revenue' as kind, created_at as at, currency, exponent, captured as amount from pay_transactions
  where captured <> '0'
  union all
  select 'refunds', updated_at, currency, exponent, refunded from pay_transactions where refunded <> '0'
) as moved cross join (select 0 as limb union all select 1 as limb union all select 2 as limb union all select 3 as limb union all select 4 as limb union all select 5 as limb union all select 6 as limb) as limbs
where length(amount) > 12 * limb
group by kind, at / 900000, currency, exponent, limb;
