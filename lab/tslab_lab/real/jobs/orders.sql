-- A database in memory: inserts, indexes, questions with groups and sorting, updates and deletes. The table `amount`,
-- with one row, says how many orders there shall be.

create table orders (id integer primary key, customer integer not null, town text not null, note text, cents integer);
insert into orders
  with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < (select n from amount))
  select n, n * 7919 % 997, 'town ' || (n * 31 % 211),
         substr(hex(n * 2654435761) || printf('%.*c', n % 120, 'x'), 1, 20 + n % 100), n * 104729 % 100000
  from numbers;
create index orders_by_customer on orders (customer, cents);
create index orders_by_town on orders (town, note);

create table lines (number integer, order_id integer references orders (id), item text, primary key (order_id, number))
  without rowid;
insert into lines select 1 + id % 3, id, 'item ' || (id * 17 % 1009) from orders;
insert into lines select 4 + id % 2, id, upper(note) from orders where id % 2 = 0;

select town, count(*), sum(cents), min(note), max(note) from orders group by town order by sum(cents) desc limit 20;
select customer, group_concat(id)
  from (select customer, id from orders where cents < 2000 order by id) group by customer limit 50;
select sum(length(t)) from (select group_concat(note, ';') as t from orders group by customer);
select count(*), sum(o.cents) from orders o join lines l on l.order_id = o.id where l.item like 'item 1%';
select id, note from orders order by note desc, id limit 10;
select sum(json_extract(j, '$.cents')), sum(json_array_length(j, '$.notes'))
  from (select json_object('cents', cents, 'notes', json_array(note, town)) as j from orders where id % 3 = 0);

update orders set note = note || ' again' where id % 5 = 0;
delete from orders where id % 3 = 1;
delete from lines where order_id not in (select id from orders);
select count(*), sum(cents), sum(length(note)) from orders;
select count(*), sum(length(item)) from lines;
vacuum;
pragma integrity_check;
