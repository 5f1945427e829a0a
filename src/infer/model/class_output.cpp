#include "infer/model/class_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/utf8.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUnknown = -1;
constexpr const char* kRaw = "--outputs raw --out DIR writes what the network gives of each image";

bool is_number_of_a_class(const NetworkOutput& output) {
  return output.type.starts_with("i64") || output.type.starts_with("i32") || output.type.starts_with("u64") ||
         output.type.starts_with("u32");
}

/// The number of values of an output that is a row; 0 = it is no row, kUnknown = the number isn't known.
std::int64_t row_of(const NetworkOutput& output) {
  if (!output.rank_is_known) return kUnknown;
  std::int64_t row = 1;
  for (const std::int64_t extent : output.shape) {
    if (extent == 1) continue;
    if (row != 1) return 0;
    row = extent;
  }
  return row;
}

/// Values that may be a score for each class: a row, but not one of things of which other outputs tell more, as a
/// detector's scores and boxes do.
std::int64_t classes_of(const std::vector<NetworkOutput>& outputs, std::size_t index, std::size_t labels) {
  const NetworkOutput& output = outputs[index];
  const std::int64_t row = row_of(output);
  if (row == kUnknown || row == static_cast<std::int64_t>(labels)) return row;
  const bool is_column = output.shape.size() == 2 && output.shape.back() == 1;
  const bool has_more = std::ranges::any_of(outputs, [&](const NetworkOutput& other) {
    return row_of(other) == 0 && std::ranges::find(other.shape, row) != other.shape.end();
  });
  return is_column || has_more ? 0 : row;
}

std::string all_text(const std::vector<NetworkOutput>& outputs) {
  constexpr std::size_t kMostTold = 9;
  std::vector<std::string> texts;
  std::ranges::transform(outputs.begin(),
                         outputs.begin() + static_cast<std::ptrdiff_t>(std::min(outputs.size(), kMostTold)),
                         std::back_inserter(texts), output_text);
  return fmt::format("{}{}", fmt::join(texts, ", "),
                     outputs.size() > kMostTold ? fmt::format(" and {} more", outputs.size() - kMostTold) : "");
}

/// The result where no output is a row of values.
ClassOutput without_row(const std::vector<NetworkOutput>& outputs, const std::vector<std::size_t>& asked,
                        std::size_t labels) {
  ClassOutput chosen{.index = asked.front()};
  for (const std::size_t index : asked) {
    const NetworkOutput& output = outputs[index];
    if (row_of(output) != 1) continue;
    chosen.index = index;
    if (is_number_of_a_class(output)) {
      chosen.refusal = fmt::format(
          "its output '{}' is the number of the class that was found, without a score: how sure that is and what comes "
          "second can't be told. Export the network without the ArgMax at its end; or {}",
          printable(output.name), kRaw);
      return chosen;
    }
    chosen.from_one_value = labels == 2;
    chosen.classes = labels == 2 ? 2 : 1;
    if (labels == 2) return chosen;
    chosen.refusal = fmt::format(
        "its output {} is one value for each image, which tells two classes apart: name them with --labels FILE, first "
        "the one of values near 0; or {}",
        output_text(output), kRaw);
    return chosen;
  }
  chosen.refusal = fmt::format("{} {} can't be classes, of which each image has one row of scores: {}",
                               asked.size() == 1 ? "its output" : "its outputs",
                               asked.size() == 1 ? output_text(outputs[asked.front()]) : all_text(outputs), kRaw);
  return chosen;
}

constexpr std::size_t kClasses = 1000;

// Each name ends with a semicolon.
constexpr std::string_view kNames = R"(
tench;goldfish;great white shark;tiger shark;hammerhead;electric ray;stingray;cock;hen;ostrich;brambling;goldfinch;
house finch;junco;indigo bunting;robin;bulbul;jay;magpie;chickadee;water ouzel;kite;bald eagle;vulture;great grey owl;
European fire salamander;common newt;eft;spotted salamander;axolotl;bullfrog;tree frog;tailed frog;loggerhead;
leatherback turtle;mud turtle;terrapin;box turtle;banded gecko;common iguana;American chameleon;whiptail;agama;
frilled lizard;alligator lizard;Gila monster;green lizard;African chameleon;Komodo dragon;African crocodile;
American alligator;triceratops;thunder snake;ringneck snake;hognose snake;green snake;king snake;garter snake;
water snake;vine snake;night snake;boa constrictor;rock python;Indian cobra;green mamba;sea snake;horned viper;
diamondback;sidewinder;trilobite;harvestman;scorpion;black and gold garden spider;barn spider;garden spider;
black widow;tarantula;wolf spider;tick;centipede;black grouse;ptarmigan;ruffed grouse;prairie chicken;peacock;quail;
partridge;African grey;macaw;sulphur-crested cockatoo;lorikeet;coucal;bee eater;hornbill;hummingbird;jacamar;toucan;
drake;red-breasted merganser;goose;black swan;tusker;echidna;platypus;wallaby;koala;wombat;jellyfish;sea anemone;
brain coral;flatworm;nematode;conch;snail;slug;sea slug;chiton;chambered nautilus;Dungeness crab;rock crab;
fiddler crab;king crab;American lobster;spiny lobster;crayfish;hermit crab;isopod;white stork;black stork;spoonbill;
flamingo;little blue heron;American egret;bittern;crane;limpkin;European gallinule;American coot;bustard;
ruddy turnstone;red-backed sandpiper;redshank;dowitcher;oystercatcher;pelican;king penguin;albatross;grey whale;
killer whale;dugong;sea lion;Chihuahua;Japanese spaniel;Maltese dog;Pekinese;Shih-Tzu;Blenheim spaniel;papillon;
toy terrier;Rhodesian ridgeback;Afghan hound;basset;beagle;bloodhound;bluetick;black-and-tan coonhound;Walker hound;
English foxhound;redbone;borzoi;Irish wolfhound;Italian greyhound;whippet;Ibizan hound;Norwegian elkhound;otterhound;
Saluki;Scottish deerhound;Weimaraner;Staffordshire bullterrier;American Staffordshire terrier;Bedlington terrier;
Border terrier;Kerry blue terrier;Irish terrier;Norfolk terrier;Norwich terrier;Yorkshire terrier;
wire-haired fox terrier;Lakeland terrier;Sealyham terrier;Airedale;cairn;Australian terrier;Dandie Dinmont;
Boston bull;miniature schnauzer;giant schnauzer;standard schnauzer;Scotch terrier;Tibetan terrier;silky terrier;
soft-coated wheaten terrier;West Highland white terrier;Lhasa;flat-coated retriever;curly-coated retriever;
golden retriever;Labrador retriever;Chesapeake Bay retriever;German short-haired pointer;vizsla;English setter;
Irish setter;Gordon setter;Brittany spaniel;clumber;English springer;Welsh springer spaniel;cocker spaniel;
Sussex spaniel;Irish water spaniel;kuvasz;schipperke;groenendael;malinois;briard;kelpie;komondor;Old English sheepdog;
Shetland sheepdog;collie;Border collie;Bouvier des Flandres;Rottweiler;German shepherd;Doberman;miniature pinscher;
Greater Swiss Mountain dog;Bernese mountain dog;Appenzeller;EntleBucher;boxer;bull mastiff;Tibetan mastiff;
French bulldog;Great Dane;Saint Bernard;Eskimo dog;malamute;Siberian husky;dalmatian;affenpinscher;basenji;pug;
Leonberg;Newfoundland;Great Pyrenees;Samoyed;Pomeranian;chow;keeshond;Brabancon griffon;Pembroke;Cardigan;toy poodle;
miniature poodle;standard poodle;Mexican hairless;timber wolf;white wolf;red wolf;coyote;dingo;dhole;
African hunting dog;hyena;red fox;kit fox;Arctic fox;grey fox;tabby;tiger cat;Persian cat;Siamese cat;Egyptian cat;
cougar;lynx;leopard;snow leopard;jaguar;lion;tiger;cheetah;brown bear;American black bear;ice bear;sloth bear;
mongoose;meerkat;tiger beetle;ladybug;ground beetle;long-horned beetle;leaf beetle;dung beetle;rhinoceros beetle;
weevil;fly;bee;ant;grasshopper;cricket;walking stick;cockroach;mantis;cicada;leafhopper;lacewing;dragonfly;damselfly;
admiral;ringlet;monarch;cabbage butterfly;sulphur butterfly;lycaenid;starfish;sea urchin;sea cucumber;wood rabbit;
hare;Angora;hamster;porcupine;fox squirrel;marmot;beaver;guinea pig;sorrel;zebra;hog;wild boar;warthog;hippopotamus;
ox;water buffalo;bison;ram;bighorn;ibex;hartebeest;impala;gazelle;Arabian camel;llama;weasel;mink;polecat;
black-footed ferret;otter;skunk;badger;armadillo;three-toed sloth;orangutan;gorilla;chimpanzee;gibbon;siamang;guenon;
patas;baboon;macaque;langur;colobus;proboscis monkey;marmoset;capuchin;howler monkey;titi;spider monkey;
squirrel monkey;Madagascar cat;indri;Indian elephant;African elephant;lesser panda;giant panda;barracouta;eel;coho;
rock beauty;anemone fish;sturgeon;gar;lionfish;puffer;abacus;abaya;academic gown;accordion;acoustic guitar;
aircraft carrier;airliner;airship;altar;ambulance;amphibian;analog clock;apiary;apron;ashcan;assault rifle;backpack;
bakery;balance beam;balloon;ballpoint;Band Aid;banjo;bannister;barbell;barber chair;barbershop;barn;barometer;barrel;
barrow;baseball;basketball;bassinet;bassoon;bathing cap;bath towel;bathtub;beach wagon;beacon;beaker;bearskin;
beer bottle;beer glass;bell cote;bib;bicycle-built-for-two;bikini;binder;binoculars;birdhouse;boathouse;bobsled;
bolo tie;bonnet;bookcase;bookshop;bottlecap;bow;bow tie;brass;brassiere;breakwater;breastplate;broom;bucket;buckle;
bulletproof vest;bullet train;butcher shop;cab;caldron;candle;cannon;canoe;can opener;cardigan;car mirror;carousel;
carpenter's kit;carton;car wheel;cash machine;cassette;cassette player;castle;catamaran;CD player;cello;
cellular telephone;chain;chainlink fence;chain mail;chain saw;chest;chiffonier;chime;china cabinet;Christmas stocking;
church;cinema;cleaver;cliff dwelling;cloak;clog;cocktail shaker;coffee mug;coffeepot;coil;combination lock;
computer keyboard;confectionery;container ship;convertible;corkscrew;cornet;cowboy boot;cowboy hat;cradle;crane;
crash helmet;crate;crib;Crock Pot;croquet ball;crutch;cuirass;dam;desk;desktop computer;dial telephone;diaper;
digital clock;digital watch;dining table;dishrag;dishwasher;disk brake;dock;dogsled;dome;doormat;drilling platform;
drum;drumstick;dumbbell;Dutch oven;electric fan;electric guitar;electric locomotive;entertainment center;envelope;
espresso maker;face powder;feather boa;file;fireboat;fire engine;fire screen;flagpole;flute;folding chair;
football helmet;forklift;fountain;fountain pen;four-poster;freight car;French horn;frying pan;fur coat;garbage truck;
gasmask;gas pump;goblet;go-kart;golf ball;golfcart;gondola;gong;gown;grand piano;greenhouse;grille;grocery store;
guillotine;hair slide;hair spray;half track;hammer;hamper;hand blower;hand-held computer;handkerchief;hard disc;
harmonica;harp;harvester;hatchet;holster;home theater;honeycomb;hook;hoopskirt;horizontal bar;horse cart;hourglass;
iPod;iron;jack-o'-lantern;jean;jeep;jersey;jigsaw puzzle;jinrikisha;joystick;kimono;knee pad;knot;lab coat;ladle;
lampshade;laptop;lawn mower;lens cap;letter opener;library;lifeboat;lighter;limousine;liner;lipstick;Loafer;lotion;
loudspeaker;loupe;lumbermill;magnetic compass;mailbag;mailbox;maillot;maillot;manhole cover;maraca;marimba;mask;
matchstick;maypole;maze;measuring cup;medicine chest;megalith;microphone;microwave;military uniform;milk can;minibus;
miniskirt;minivan;missile;mitten;mixing bowl;mobile home;Model T;modem;monastery;monitor;moped;mortar;mortarboard;
mosque;mosquito net;motor scooter;mountain bike;mountain tent;mouse;mousetrap;moving van;muzzle;nail;neck brace;
necklace;nipple;notebook;obelisk;oboe;ocarina;odometer;oil filter;organ;oscilloscope;overskirt;oxcart;oxygen mask;
packet;paddle;paddlewheel;padlock;paintbrush;pajama;palace;panpipe;paper towel;parachute;parallel bars;park bench;
parking meter;passenger car;patio;pay-phone;pedestal;pencil box;pencil sharpener;perfume;Petri dish;photocopier;pick;
pickelhaube;picket fence;pickup;pier;piggy bank;pill bottle;pillow;ping-pong ball;pinwheel;pirate;pitcher;plane;
planetarium;plastic bag;plate rack;plow;plunger;Polaroid camera;pole;police van;poncho;pool table;pop bottle;pot;
potter's wheel;power drill;prayer rug;printer;prison;projectile;projector;puck;punching bag;purse;quill;quilt;racer;
racket;radiator;radio;radio telescope;rain barrel;recreational vehicle;reel;reflex camera;refrigerator;remote control;
restaurant;revolver;rifle;rocking chair;rotisserie;rubber eraser;rugby ball;rule;running shoe;safe;safety pin;
saltshaker;sandal;sarong;sax;scabbard;scale;school bus;schooner;scoreboard;screen;screw;screwdriver;seat belt;
sewing machine;shield;shoe shop;shoji;shopping basket;shopping cart;shovel;shower cap;shower curtain;ski;ski mask;
sleeping bag;slide rule;sliding door;slot;snorkel;snowmobile;snowplow;soap dispenser;soccer ball;sock;solar dish;
sombrero;soup bowl;space bar;space heater;space shuttle;spatula;speedboat;spider web;spindle;sports car;spotlight;
stage;steam locomotive;steel arch bridge;steel drum;stethoscope;stole;stone wall;stopwatch;stove;strainer;streetcar;
stretcher;studio couch;stupa;submarine;suit;sundial;sunglass;sunglasses;sunscreen;suspension bridge;swab;sweatshirt;
swimming trunks;swing;switch;syringe;table lamp;tank;tape player;teapot;teddy;television;tennis ball;thatch;
theater curtain;thimble;thresher;throne;tile roof;toaster;tobacco shop;toilet seat;torch;totem pole;tow truck;toyshop;
tractor;trailer truck;tray;trench coat;tricycle;trimaran;tripod;triumphal arch;trolleybus;trombone;tub;turnstile;
typewriter keyboard;umbrella;unicycle;upright;vacuum;vase;vault;velvet;vending machine;vestment;viaduct;violin;
volleyball;waffle iron;wall clock;wallet;wardrobe;warplane;washbasin;washer;water bottle;water jug;water tower;
whiskey jug;whistle;wig;window screen;window shade;Windsor tie;wine bottle;wing;wok;wooden spoon;wool;worm fence;
wreck;yawl;yurt;web site;comic book;crossword puzzle;street sign;traffic light;book jacket;menu;plate;guacamole;
consomme;hot pot;trifle;ice cream;ice lolly;French loaf;bagel;pretzel;cheeseburger;hotdog;mashed potato;head cabbage;
broccoli;cauliflower;zucchini;spaghetti squash;acorn squash;butternut squash;cucumber;artichoke;bell pepper;cardoon;
mushroom;Granny Smith;strawberry;orange;lemon;fig;pineapple;banana;jackfruit;custard apple;pomegranate;hay;carbonara;
chocolate sauce;dough;meat loaf;pizza;potpie;burrito;red wine;espresso;cup;eggnog;alp;bubble;cliff;coral reef;geyser;
lakeside;promontory;sandbar;seashore;valley;volcano;ballplayer;groom;scuba diver;rapeseed;daisy;yellow lady's slipper;
corn;acorn;hip;buckeye;coral fungus;agaric;gyromitra;stinkhorn;earthstar;hen-of-the-woods;bolete;ear;toilet tissue;
)";

}  // namespace

std::string open_shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    text += (text.empty() ? "" : "x") + (extent < 0 ? std::string("?") : std::to_string(extent));
  }
  return text;
}

std::string output_text(const NetworkOutput& output) {
  const std::string shape = !output.rank_is_known  ? "of any shape"
                            : output.shape.empty() ? "of one value"
                                                   : open_shape_text(output.shape);
  return fmt::format("'{}' {}", printable(output.name), shape);
}

ClassOutput choose_class_output(const std::vector<NetworkOutput>& outputs, std::size_t labels,
                                const std::string& wanted) {
  std::vector<std::size_t> asked;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    names.push_back(outputs[i].name);
    if (wanted.empty() || outputs[i].name == wanted) asked.push_back(i);
  }
  if (asked.empty()) throw UsageError(unknown_name_message("output", wanted, names));
  std::vector<std::size_t> rows, fitting;
  for (const std::size_t index : asked) {
    const std::int64_t classes = wanted.empty() ? classes_of(outputs, index, labels) : row_of(outputs[index]);
    if (classes == 0 || classes == 1 || is_number_of_a_class(outputs[index])) continue;
    rows.push_back(index);
    if (classes == static_cast<std::int64_t>(labels)) fitting.push_back(index);
  }
  if (rows.empty()) return without_row(outputs, asked, labels);
  const std::size_t taken = fitting.empty() ? rows.front() : fitting.front();
  ClassOutput chosen{.index = taken, .classes = row_of(outputs[taken])};
  if (asked.size() == 1) return chosen;
  const bool is_plain = fitting.size() == 1 || rows.size() == 1;
  chosen.note =
      fmt::format("of the outputs {} classes are told by '{}', {}", all_text(outputs), printable(outputs[taken].name),
                  fitting.size() == 1 ? "which has as many values as there are names"
                  : is_plain          ? "the only row of values"
                                      : "the first that fits; --output-name NAME takes another");
  return chosen;
}

std::string label_mismatch(const ClassOutput& chosen, const NetworkOutput& output,
                           const std::vector<std::string>& labels) {
  const auto names = static_cast<std::int64_t>(labels.size());
  if (labels.empty() || chosen.classes < 2 || chosen.classes == names) return "";
  std::string text = fmt::format("{} for the {} of output {}", counted(names, "name"),
                                 counted(chosen.classes, "class", "classes"), output_text(output));
  if (names == chosen.classes + 1) {
    text += fmt::format("; if the first, {}, is no class of the network (a background), leave out its line",
                        quoted_text(labels.front()));
  } else if (names + 1 == chosen.classes) {
    text += "; if the network has a background first, put a line 'background' before the names";
  }
  return text;
}

constexpr std::size_t kMostLabels = 1'000'000;
constexpr std::uint64_t kMostBytes = 1 << 28;

bool has_logits(std::span<const float> values) {
  constexpr float kRounding = 1e-5F;
  return std::ranges::any_of(values, [](float value) { return value < -kRounding || value > 1 + kRounding; });
}

bool are_probabilities(std::span<const float> scores, OutputType holds) {
  constexpr float kByteStep = 1.0F / 256;
  const bool in_range = !has_logits(scores);
  if (holds == OutputType::kProbabilities && !in_range) {
    throw Error(
        fmt::format("the network gave {:.4g} as a probability, which lies outside 0 to 1: without --output-type "
                    "prob it is taken for a logit",
                    scores.back()));
  }
  if (holds != OutputType::kAuto || !in_range) return holds == OutputType::kProbabilities;
  // Softmax in bytes, as quantised networks give it, doesn't add up to 1: small probabilities are rounded to 0.
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  const auto is_byte = [](float score) { return std::fmod(score, kByteStep) == 0; };
  return std::abs(sum - 1) < 0.01 || (sum > 0.1 && sum < 2 && std::ranges::all_of(scores, is_byte));
}

std::vector<ClassScore> top_classes(std::span<const float> scores, std::size_t count, OutputType told,
                                    OutputType holds) {
  if (scores.empty()) return {};
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  count = std::min(count, order.size());
  // NaN comes last: a comparison with it would break the order.
  const auto value = [&](std::size_t i) { return std::isnan(scores[i]) ? -INFINITY : scores[i]; };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t a, std::size_t b) { return value(a) != value(b) ? value(a) > value(b) : a < b; });
  const bool as_told = told == OutputType::kLogits;
  const bool of_several = told == OutputType::kProbabilities && holds == OutputType::kAuto && !has_logits(scores);
  const bool are_numbers = std::ranges::none_of(scores, [](float score) { return std::isnan(score); });
  const bool are_already = !as_told && are_numbers && (of_several || are_probabilities(scores, holds));
  double exponentials = 0;
  const double largest = value(order.front());
  for (const float score : scores) exponentials += std::exp(score - largest);
  std::vector<ClassScore> top;
  for (std::size_t i = 0; i < count; ++i) {
    const float score = scores[order[i]];
    const double share = are_already ? double{std::clamp(score, 0.0F, 1.0F)} : std::exp(score - largest) / exponentials;
    top.push_back({order[i], as_told ? score : static_cast<float>(share)});
  }
  return top;
}

std::vector<std::string> read_labels(const fs::path& path) {
  std::vector<std::string> labels;
  try {
    labels = lines_of_list(read_file(path, kMostBytes), /*trims=*/false);
  } catch (const Error& error) {
    throw Error(fmt::format("the labels '{}' can't be read ({}); give a text file with a name on each line",
                            path.string(), error.what()));
  }
  if (labels.size() > kMostLabels) labels.resize(kMostLabels);
  while (!labels.empty() && labels.back().empty()) labels.pop_back();
  return labels;
}

fs::path labels_beside(const fs::path& weights) {
  return fs::path(weights).replace_extension(".classes.txt");
}

std::vector<std::string> imagenet_names(std::size_t outputs) {
  std::vector<std::string> names;
  if (outputs != kClasses && outputs != kClasses + 1) return names;
  if (outputs > kClasses) names.emplace_back("background");
  std::string name;
  for (const char c : kNames) {
    if (c == ';') {
      names.push_back(name);
      name.clear();
    } else if (c != '\n') {
      name += c;
    }
  }
  return names;
}

}  // namespace evener::inference
