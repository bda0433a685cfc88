// Pinocchio's C++ API behind a C interface: loops over given states, timed inside, one call per measurement.
// Build: g++ -O3 -DNDEBUG -std=c++17 -shared -fPIC -DBOOST_MPL_LIMIT_LIST_SIZE=30 -DBOOST_MPL_LIMIT_VECTOR_SIZE=30
// -DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS -DBOOST_FUSION_INVOKE_MAX_ARITY=12, headers of the pin wheel and of Eigen 3.4,
// linked with the wheel's libpinocchio_default.
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/jacobian.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <vector>

using namespace pinocchio;
using Vectors = std::vector<Eigen::VectorXd>;

struct Robot {
  Model model;
  Data data;
  std::vector<FrameIndex> points;
  Data::Matrix6x J;
};

static Vectors rows(const double* values, int count, int size) {
  Vectors out(count);
  for (int i = 0; i < count; ++i) out[i] = Eigen::Map<const Eigen::VectorXd>(values + i * size, size);
  return out;
}

template <class Call>
static double seconds_per_call(int count, int repeats, Call call) {
  const auto start = std::chrono::steady_clock::now();
  for (int r = 0; r < repeats; ++r)
    for (int i = 0; i < count; ++i) call(i);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / (double(count) * repeats);
}

// What contact dynamics needs from Pinocchio: M^-1 and the Jacobians of all points.
static void contact_terms(Robot& r, const Eigen::VectorXd& q) {
  computeMinverse(r.model, r.data, q);
  computeJointJacobians(r.model, r.data, q);
  updateFramePlacements(r.model, r.data);
  for (const FrameIndex f : r.points) {
    r.J.setZero();
    getFrameJacobian(r.model, r.data, f, LOCAL_WORLD_ALIGNED, r.J);
  }
}

template <class Matrix>
static void read(std::istream& in, Matrix& values) {
  for (int i = 0; i < values.rows(); ++i)
    for (int j = 0; j < values.cols(); ++j) in >> values(i, j);
}

static bool joint_of(const std::string& type, const Eigen::Vector3d& axis, JointModel& out) {
  if (type == "JointModelFreeFlyer") out = JointModelFreeFlyer();
  else if (type == "JointModelRX") out = JointModelRX();
  else if (type == "JointModelRY") out = JointModelRY();
  else if (type == "JointModelRZ") out = JointModelRZ();
  else if (type == "JointModelPX") out = JointModelPX();
  else if (type == "JointModelPY") out = JointModelPY();
  else if (type == "JointModelPZ") out = JointModelPZ();
  else if (type == "JointModelRevoluteUnaligned") out = JointModelRevoluteUnaligned(axis);
  else if (type == "JointModelPrismaticUnaligned") out = JointModelPrismaticUnaligned(axis);
  else return false;
  return true;
}

extern "C" {

// One line per joint: type, parent, axis, placement R p, mass, centre of mass, inertia about it; null for an unknown type.
Robot* robot_make(const char* text) {
  Robot* r = new Robot;
  std::istringstream in(text);
  std::string type;
  for (int i = 1; in >> type; ++i) {
    int parent;
    double mass;
    Eigen::Vector3d axis, p, com;
    Eigen::Matrix3d R, I;
    in >> parent;
    read(in, axis), read(in, R), read(in, p), in >> mass, read(in, com), read(in, I);
    JointModel joint;
    if (!joint_of(type, axis, joint)) return nullptr;
    const JointIndex id = r->model.addJoint(parent, joint, SE3(R, p), "joint" + std::to_string(i));
    r->model.appendBodyToJoint(id, Inertia(mass, com, I), SE3::Identity());
  }
  r->data = Data(r->model);
  r->J = Data::Matrix6x::Zero(6, r->model.nv);
  return r;
}

void robot_free(Robot* r) { delete r; }

void robot_add_point(Robot* r, int joint, double x, double y, double z) {
  const SE3 at(Eigen::Matrix3d::Identity(), Eigen::Vector3d(x, y, z));
  r->points.push_back(r->model.addFrame(Frame("point" + std::to_string(r->points.size()), joint, 0, at, OP_FRAME)));
  r->data = Data(r->model);
}

double robot_time(Robot* r, const char* name, const double* q_, const double* v_, const double* x_, int count,
                  int repeats) {
  const Model& m = r->model;
  Data& d = r->data;
  const Vectors q = rows(q_, count, m.nq), v = rows(v_, count, m.nv), x = rows(x_, count, m.nv);
  const std::string what(name);
  if (what == "rnea") return seconds_per_call(count, repeats, [&](int i) { rnea(m, d, q[i], v[i], x[i]); });
  if (what == "aba")
    return seconds_per_call(count, repeats, [&](int i) { aba(m, d, q[i], v[i], x[i], Convention::WORLD); });
  if (what == "aba local")
    return seconds_per_call(count, repeats, [&](int i) { aba(m, d, q[i], v[i], x[i], Convention::LOCAL); });
  if (what == "crba") return seconds_per_call(count, repeats, [&](int i) { crba(m, d, q[i], Convention::WORLD); });
  if (what == "crba local")
    return seconds_per_call(count, repeats, [&](int i) { crba(m, d, q[i], Convention::LOCAL); });
  if (what == "contact") return seconds_per_call(count, repeats, [&](int i) { contact_terms(*r, q[i]); });
  return -1.0;
}
}
