// evener share: the page about a trained network for people who don't know evener.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/progress.h"
#include "job/share/share_job.h"

namespace evener::cli {

Command share_command() {
  const auto flags = std::make_shared<job::ShareFlags>();
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
            fmt::print("page                      {}\n", job::share(*flags, progress).string());
            return 0;
          }};
}

}  // namespace evener::cli
