-- Tarantool's vinyl: a log-structured tree with ranges and runs, two indexes, a snapshot now and then.
box.cfg{vinyl_memory = 16 * 2^20, vinyl_cache = 0, vinyl_run_count_per_level = 2, vinyl_page_size = 8192, vinyl_range_size = 16 * 2^20,
    wal_mode = 'write', wal_max_size = 16 * 2^20, checkpoint_interval = 0, checkpoint_count = 1, memtx_memory = 2^25, log_level = 2}
local rows, value, changes = 180000, 1000, 600000
local space = box.schema.space.create('rows', {engine = 'vinyl', if_not_exists = true})
space:create_index('primary', {parts = {1, 'unsigned'}})
space:create_index('group', {parts = {2, 'unsigned'}, unique = false})
math.randomseed(1)
local noise = {}
for at = 1, value + 4096 do noise[at] = string.char(math.random(0, 255)) end
noise = table.concat(noise)
for step = 0, rows + changes - 1 do
    local row = step < rows and step * 7919 % rows or math.floor(rows * math.random() * math.random())
    local at = math.random(1, 4096)
    if step % 50 == 0 then box.begin() end
    space:replace{row, math.random(0, 5000), noise:sub(at, at + value - 1)}
    if step % 50 == 49 then box.commit() end
    if step % 20000 == 19999 then box.snapshot() end
end
os.exit(0)
