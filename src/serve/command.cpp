// evener serve: answers over HTTP with a trained network.
#include "options/command.h"

#include <fmt/format.h>

#include <memory>

#include "base/names.h"
#include "base/plural.h"
#include "options/progress_line.h"
#include "serve/serve.h"

namespace evener::serving {
namespace {

constexpr const char* kServeFooter =
    R"(The Open Inference Protocol (KServe v2) over REST; docs/serving.md tells how to ask.

Examples:
  evener serve runs/a
  evener serve model.onnx --on cuda:0 --batch 32 --max-wait 2 --port 9000
  evener serve resnet18 --weights resnet18.pth --labels names.txt --precision bf16
  curl --data-binary @cat.jpg -H 'Content-Type: image/jpeg' \
       'http://127.0.0.1:8000/v2/models/resnet18/infer?classification=5')";

int tell_serve(const ServeFlags& flags) {
  PromptLine progress(*flags.server.quiet);
  const ServedTotals totals = serve(flags, progress);
  progress.note(fmt::format("ended after {}: {}, {} in {}, all that was accepted answered",
                            duration_text(totals.seconds), counted(totals.requests, "request"),
                            counted(totals.samples, "sample"), counted(totals.batches, "batch", "batches")));
  if (!totals.energy.empty()) progress.note(totals.energy);
  return 0;
}

}  // namespace

Command serve_command() {
  const auto flags = std::make_shared<ServeFlags>();
  return {.name = "serve",
          .summary = "Answer over HTTP with a trained network",
          .options = flags->options(),
          .footer = kServeFooter,
          .complete = [flags](measure::Observer& line) { complete(*flags, &line); },
          .run = [flags] { return tell_serve(*flags); }};
}

}  // namespace evener::serving
