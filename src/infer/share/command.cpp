// evener share: a page about a trained network.
#include "options/command.h"

#include <fmt/format.h>

#include <memory>

#include "infer/share/share_job.h"
#include "options/progress_line.h"

namespace evener::inference {

Command share_command() {
  const auto flags = std::make_shared<ShareFlags>();
  return {.name = "share",
          .summary = "Write a page about a trained network: what it recognises, its mistakes, how to use it",
          .options = {flags.get()},
          .footer =
              "The page is one file, which opens offline and can be sent to anybody.\n\n"
              "Examples:\n"
              "  evener share runs/ants\n"
              "  evener share runs/ants --html ants.html\n",
          .run = [flags] {
            ProgressLine progress(false);
            fmt::print("page                      {}\n", share(*flags, progress).string());
            return 0;
          }};
}

}  // namespace evener::inference
