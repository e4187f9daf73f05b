-- What wrk asks for: the paths it is given, in turns. At the end it prints what came of it as a line of JSON.
-- usage: wrk ... -s requests.lua URL -- PATHS...

local requests = {}
local at = 0

function init(paths)
  for number, path in ipairs(paths) do
    requests[number] = wrk.format("GET", path, { ["Accept-Encoding"] = "gzip", ["Host"] = "localhost" })
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary)
  local errors = summary.errors
  local lost = errors.connect + errors.read + errors.write + errors.timeout
  local line = '{"requests": %d, "refused": %d, "lost": %d, "seconds": %f}'
  print(line:format(summary.requests, errors.status, lost, summary.duration / 1e6))
end
