// evener demo: everything that the program is about, in one table and on one page, in some minutes.
#include <memory>

#include "cli/command.h"
#include "cli/progress.h"
#include "job/demo/demo_job.h"

namespace evener::cli {

Command demo_command() {
  const auto flags = std::make_shared<job::DemoFlags>();
  return {.name = "demo",
          .summary = "Train two networks on generated images in every way, infer in every precision, report",
          .options = {flags.get()},
          .footer = "Examples:\n  evener demo\n  evener demo --minutes 1 --out /tmp/demo",
          .run = [flags] {
            PromptLine progress(/*quiet=*/false);
            job::demo(*flags, progress);
            return 0;
          }};
}

}  // namespace evener::cli
