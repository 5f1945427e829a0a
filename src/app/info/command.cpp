// evener info: what a network, a run or a file is.
#include "options/command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "app/info/info_job.h"
#include "network/zoo.h"
#include "options/output.h"

namespace evener::app {
namespace {

std::string models_text() {
  std::string text = "Models:\n";
  for (const network::ModelInfo& model : network::known_models())
    text += fmt::format("  {:<31}{}\n", model.name, model.description);
  return text;
}

}  // namespace

Command info_command() {
  const auto flags = std::make_shared<InfoFlags>();
  return {.name = "info",
          .summary = "Show a model's layers, shapes, parameters, FLOPs and memory; or what a run or a file holds",
          .options = flags->options(),
          .footer = models_text() +
                    "\nExamples:\n"
                    "  evener info resnet34\n"
                    "  evener info resnet34 --size 197x148 --channels 1 --classes 9\n"
                    "  evener info mlp:784-256-10 --json -\n"
                    "  evener info runs/a\n"
                    "  evener info resnet18.pth\n",
          .run = [flags] {
            const Description info = describe(*flags);
            if (!write_json(*flags->json, info.json)) std::fputs(info.text.c_str(), stdout);
            return 0;
          }};
}

}  // namespace evener::app
