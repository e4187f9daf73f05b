pragma journal_mode = wal;
pragma cache_size = 500;
create table rows (number integer primary key, name text, value real, data blob);
with recursive counter (n) as (select 1 union all select n + 1 from counter where n < 100000)
    insert into rows select n, 'name ' || (n * 7919 % 100003), n / 7.0, zeroblob(n % 300) from counter;
create index by_name on rows (name);
create index by_value on rows (value desc, name);
select count(*), sum(number), sum(length(data)) from rows;
select name, number from rows order by name desc limit 5;
select substr(name, 6, 2) as part, count(*), group_concat(number % 10, '') like '%123%' from rows group by part order by 2 desc, 1 limit 5;
select count(*) from rows a join rows b on a.name = 'name ' || b.number where a.number < 5000;
update rows set name = name || ' changed', data = zeroblob(length(data) * 2) where number % 3 = 0;
delete from rows where number % 7 = 0;
select count(*), sum(length(data)), max(name) from rows;
vacuum;
pragma integrity_check;
