// Parses, runs the chosen command, and turns errors into one message and an exit code.
#include <cstdio>
#include <exception>

#include "base/error.h"
#include "base/stop.h"
#include "cli/arguments.h"
#include "cli/command.h"

namespace {

constexpr const char* kVersion = EVENER_VERSION;

int run(int argc, char** argv) {
  using namespace evener;
  CLI::App app{"evener trains and measures image networks on every processor a machine has.", "evener"};
  cli::Action action;
  app.set_version_flag("--version", std::string("evener ") + kVersion);
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  cli::add_doctor(app, action);
  cli::add_demo(app, action);
  cli::add_info(app, action);
  cli::add_train(app, action);
  cli::add_plan(app, action);
  cli::add_report(app, action);
  cli::add_data(app, action);
  app.footer(
      "'evener COMMAND --help' shows a command's options with examples; of an option given twice the last one counts.\n"
      "'evener setup --help' tells about the set-up.");
  cli::parse(app, argc, argv);
  if (!action) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
  install_stop_handlers();
  return action();
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
