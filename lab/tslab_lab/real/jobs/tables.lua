-- Builds strings and tables, and drops them again. usage: tables.lua ROUNDS
--
-- Each round makes records with fields and lists, texts piece by piece, and an index of words; a part of them lives on
-- for some rounds. What is printed does not depend on the order in which pairs() walks, which differs from run to run.

local rounds = tonumber(arg[1])
local SURVIVING_ROUNDS = 4

math.randomseed(42)
local random = math.random

local function word()
  local letters = {}
  for i = 1, random(3, 12) do
    letters[i] = string.char(96 + random(26))
  end
  return table.concat(letters)
end

local function record(number)
  local tags = {}
  for i = 1, random(0, 6) do
    tags[i] = word()
  end
  return { number = number, name = "record " .. number, tags = tags, at = { x = random(1000), y = random(1000) } }
end

local function describe(one)
  return string.format("%s at %d,%d: %s", one.name, one.at.x, one.at.y, table.concat(one.tags, " "))
end

local kept, checksum, length = {}, 0, 0
for round = 1, rounds do
  local records, lines, index = {}, {}, {}
  for number = 1, 1500 do
    local one = record(number)
    records[number] = one
    lines[number] = describe(one)
    for _, tag in ipairs(one.tags) do
      local key = tag:sub(1, 2)
      index[key] = index[key] or {}
      table.insert(index[key], one)
    end
  end
  local text = table.concat(lines, "\n")
  local upper = text:gsub("(%a)(%a*)", function(first, rest) return first:upper() .. rest end)
  local keys = {}
  for key in pairs(index) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  for position, key in ipairs(keys) do
    checksum = (checksum * 31 + #index[key] * position + key:byte(2)) % 4294967291
  end
  length = length + #upper
  local survivors = {}
  for number = 1, #records, 10 do
    survivors[#survivors + 1] = records[number]
  end
  kept[round % SURVIVING_ROUNDS] = survivors
end
for _, survivors in pairs(kept) do
  for _, one in ipairs(survivors) do
    assert(one.name == "record " .. one.number, "a record was damaged while it was alive")
  end
end
print(rounds, checksum, length)
