// evener demo: trains, infers and reports in every way, on generated images.
#include "options/command.h"

#include <memory>

#include "app/demo/demo_job.h"
#include "options/progress_line.h"

namespace evener::app {

Command demo_command(MeasuredCommands (*measured)()) {
  const auto flags = std::make_shared<DemoFlags>();
  return {.name = "demo",
          .summary = "Train two networks on generated images in every way, infer in every precision, report",
          .options = {flags.get()},
          .footer = "Examples:\n  evener demo\n  evener demo --minutes 1 --out /tmp/demo",
          .run = [flags, measured] {
            PromptLine progress(/*quiet=*/false);
            demo(*flags, measured(), progress);
            return 0;
          }};
}

}  // namespace evener::app
