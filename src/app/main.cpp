// The program itself; what it does is in program.h, which tests call in their own process.
#include <exception>

#include "app/program.h"
#include "base/forked.h"
#include "infer/model/trial_run.h"
#include "placement/machine.h"

int main(int argc, char** argv) {
  using namespace evener;
  std::set_terminate(app::end_at_once);
  const Answers answers = {
      {placement::kAcceleratorsQuestion,
       [](const auto& words) { return placement::accelerators_message(words.at(0)); }},
      {inference::kModelFileQuestion, [](const auto& words) { return inference::model_file_failure(words.at(0)); }}};
  if (const std::optional<int> code = answer_if_asked(argc, argv, answers)) return *code;
  return app::run_command_line(argc, argv);
}
