// The commands of the program: what a room gives is one line here, and one in all_commands().
#pragma once

#include <functional>

#include "options/command.h"

namespace evener::training {
Command train_command();
Command plan_command();
Command data_labels_command();
}  // namespace evener::training

namespace evener::inference {
Command infer_command();
Command export_command();
Command calibrate_command();
Command share_command();
}  // namespace evener::inference

namespace evener::faces {
Command faces_command();
}  // namespace evener::faces

namespace evener::detection {
Command detect_command();
}  // namespace evener::detection

namespace evener::matmul {
Command matmul_command();
}  // namespace evener::matmul

namespace evener::serving {
Command serve_command();
}  // namespace evener::serving

namespace evener::quantization {
Command quantize_command();
}  // namespace evener::quantization

namespace evener::sweeps {
/// `measured`: what a sweep can run.
Command sweep_command(MeasuredCommands (*measured)());
Command compare_command();
Command history_command();
}  // namespace evener::sweeps

namespace evener::app {

Command doctor_command();
Command info_command();
Command report_command();
Command data_command();
Command data_info_command();
Command data_fetch_command();
/// `measured`: what a sweep can run.
Command demo_command(MeasuredCommands (*measured)());
/// The commands that a sweep can run.
MeasuredCommands measured_commands();
/// `program` makes the program's commands, this one among them.
Command completion_command(std::function<Command()> program);

}  // namespace evener::app
