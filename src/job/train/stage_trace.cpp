#include "job/train/stage_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/files.h"

namespace evener::job {

namespace {

double first_begin_s(std::span<const parallel::StageWork> work) {
  double begin_s = std::numeric_limits<double>::infinity();
  for (const auto& rank : work) {
    for (const auto& step : rank.last_steps) {
      for (const auto& task : step) begin_s = std::min(begin_s, task.from_s);
    }
  }
  return begin_s;
}

}  // namespace

void write_stage_trace(const std::filesystem::path& path, std::span<const parallel::StageWork> work, int stages,
                       int hosts) {
  const std::size_t of_host = work.size() / static_cast<std::size_t>(hosts);
  constexpr double kMicroseconds = 1e6;
  std::string events;
  const auto add = [&events](const std::string& event) { events += (events.empty() ? "" : ",\n") + event; };
  for (std::size_t rank = 0; rank < work.size(); ++rank) {
    const auto replica = rank / static_cast<std::size_t>(stages), stage = rank % static_cast<std::size_t>(stages);
    const double begin_s = first_begin_s(work.subspan(rank / of_host * of_host, of_host));
    add(fmt::format(R"({{"name":"process_name","ph":"M","pid":{0},"tid":0,"args":{{"name":"replica {0}"}}}})",
                    replica));
    add(fmt::format(R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":"stage {}"}}}})", replica,
                    stage, stage));
    for (std::size_t step = 0; step < work[rank].last_steps.size(); ++step) {
      for (const auto& task : work[rank].last_steps[step]) {
        add(fmt::format(
            R"({{"name":"{0} {1}","cat":"{0}","ph":"X","pid":{2},"tid":{3},"ts":{4:.3f},"dur":{5:.3f},"args":{{"step":{6},"micro_batch":{1}}}}})",
            parallel::pass_text(task.kind), task.micro_batch, replica, stage, (task.from_s - begin_s) * kMicroseconds,
            (task.to_s - task.from_s) * kMicroseconds, step));
      }
    }
  }
  write_file_atomically(path, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events + "\n]}\n");
}

}  // namespace evener::job
