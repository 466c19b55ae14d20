-- The load of serve_load.py: bodies from a file, one per line; each connection waits between its requests.
local bodies, delays, place = {}, tonumber(os.getenv("LOAD_DELAY_MS")), 0
local counts = {}
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(args)
  for line in io.lines(os.getenv("LOAD_BODIES")) do
    table.insert(bodies, line)
  end
  counts = {}
  accepted = ""
  math.randomseed(os.time())
  place = math.random(#bodies)
end

function delay()
  -- Exponential gaps: requests do not arrive in step.
  -- At most 15 s: the server closes connections that send nothing for 20 s, which wrk counts as errors.
  return math.min(15000, math.floor(-math.log(1 - math.random() * 0.999) * delays))
end

function request()
  place = place % #bodies + 1
  return wrk.format("POST", "/v1/classify", { ["Content-Type"] = "application/json" }, bodies[place])
end

function response(status, headers, body)
  counts[status] = (counts[status] or 0) + 1
  local lines = ""
  for code, count in pairs(counts) do
    lines = lines .. code .. "=" .. count .. " "
  end
  statuses = lines
end

function done(summary, latency, requests)
  local total = {}
  for _, thread in ipairs(threads) do
    for code, count in (thread:get("statuses") or ""):gmatch("(%d+)=(%d+)") do
      total[code] = (total[code] or 0) + tonumber(count)
    end
  end
  for code, count in pairs(total) do
    io.write(string.format("status %s %d\n", code, count))
  end
  local errors = summary.errors
  io.write(string.format("socket %d %d %d %d\n", errors.connect, errors.read, errors.write, errors.timeout))
  io.write(string.format("seconds %f\n", summary.duration / 1e6))
end
