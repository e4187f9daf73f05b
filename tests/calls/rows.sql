create table t(a);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 300000) insert into t select hex(x) from c;
select count(*), max(a) from t;
