job_id=$SPOOL_JOB job_nodes=localhost node0=localhost this_node=localhost
node_names=(localhost)

on_node() { # on_node NODE COMMAND…: there is one node, which is this machine
  shift
  "$@"
}

