// Parses, runs the chosen command, and turns errors into one message and an exit code.
#include <cstdio>
#include <exception>
#include <string>

#include "base/error.h"
#include "base/stop.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/options/parser.h"

namespace {

constexpr const char* kVersion = EVENER_VERSION;

evener::cli::Command program() {
  using namespace evener::cli;
  Command program{"evener", "evener trains and measures image networks on every processor a machine has."};
  program.footer =
      "'evener COMMAND --help' shows a command's options with examples; of an option given twice the last one counts.\n"
      "'evener setup --help' tells about the set-up.";
  program.commands = {doctor_command(), demo_command(), info_command(),   train_command(), infer_command(),
                      export_command(), plan_command(), report_command(), data_command()};
  return program;
}

int run(int argc, char** argv) {
  using namespace evener;
  const cli::Command all = program();
  const cli::Command& command = cli::parse(all, std::string("evener ") + kVersion, argc, argv);
  if (!command.run) {
    std::fputs(cli::program_help(all).c_str(), stdout);
    return 0;
  }
  install_stop_handlers();
  return command.run();
}

int fail(const std::exception& error, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "evener: %s\n", error.what());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const evener::cli::HelpPrinted&) {
    return 0;
  } catch (const evener::UsageError& error) {
    return fail(error, 2);
  } catch (const evener::Interrupted& error) {
    return fail(error, 130);
  } catch (const std::exception& error) {
    return fail(error, 1);
  }
}
