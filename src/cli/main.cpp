// The program itself; what it does is in program.h, which tests call in their own process.
#include <exception>

#include "base/forked.h"
#include "cli/program.h"
#include "placement/machine.h"
#include "task/inference/trial_run.h"

int main(int argc, char** argv) {
  using namespace evener;
  std::set_terminate(cli::end_at_once);
  const Answers answers = {
      {placement::kAcceleratorsQuestion,
       [](const auto& words) { return placement::accelerators_message(words.at(0)); }},
      {task::kModelFileQuestion, [](const auto& words) { return task::model_file_failure(words.at(0)); }}};
  if (const std::optional<int> code = answer_if_asked(argc, argv, answers)) return *code;
  return cli::run_command_line(argc, argv);
}
