# Ten threads of jobs, as Sidekiq has. Each parses documents, and one string in a thousand is kept.
require 'json'

def rss
  File.read('/proc/self/smaps_rollup')[/Rss:\s+(\d+)/, 1].to_i / 1024
end

document = JSON.generate((1..400).map { |i| { 'id' => i, 'name' => "customer #{i} of somewhere far away", 'note' => 'x' * (i % 300) } })
kept = Queue.new
threads = Array.new(10) do |number|
  Thread.new do
    random = Random.new(number)
    30.times do
      work = Array.new(30) { JSON.parse(document) }
      work.each { |rows| rows.each { |row| kept << row['note'] if random.rand < 0.001 } }
    end
  end
end
threads.each(&:join)
full = rss
2.times { GC.start }
sleep 2.5
puts "full #{full} MiB, after #{rss} MiB, kept #{kept.size}"
