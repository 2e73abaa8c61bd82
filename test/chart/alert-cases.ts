// What makes each alert fire: series a minute apart as Prometheus scrapes them, when it must be silent and when it must fire.

export interface AlertCase {
  alert: string;
  /** In promtool's notation: `0x20` is 0 and twenty times more of it, `1+1x20` counts up. */
  series: Record<string, string>;
  /** So long after the beginning it is silent. */
  silent: string;
  /** So long after the beginning it fires, once. */
  fires: string;
}

const at = (labels: string): string => `{namespace="flow", ${labels}}`;
const server = at('gateway="agents", instance="10.0.0.7:9091"');

export const alertCases: readonly AlertCase[] = [
  {
    alert: 'LyceumSourceNotReady',
    // Two operators tell of it: the one that led before for a while longer.
    series: {
      [`lyceum_source_ready${at('name="handbook", pod="a"')}`]: '1 0x30',
      [`lyceum_source_ready${at('name="handbook", pod="b"')}`]: '_ 0x30',
      [`lyceum_source_ready${at('name="good", pod="a"')}`]: '1x30',
    },
    silent: '15m',
    fires: '17m',
  },
  {
    alert: 'LyceumSourceStale',
    series: {
      [`lyceum_source_stale${at('name="handbook"')}`]: '0 1x400',
      [`lyceum_source_stale${at('name="good"')}`]: '0x400',
    },
    silent: '5h',
    fires: '6h5m',
  },
  {
    alert: 'LyceumGatewayNotReady',
    series: {
      [`lyceum_gateway_ready${at('name="agents"')}`]: '1 0x30',
      [`lyceum_gateway_ready${at('name="good"')}`]: '1x30',
    },
    silent: '9m',
    fires: '12m',
  },
  {
    alert: 'LyceumServerBehind',
    series: {
      [`lyceum_gateway_generation${at('name="agents"')}`]: '3 4x30',
      [`lyceum_catalogue_generation${server}`]: '3x31',
      [`lyceum_catalogue_generation${at('gateway="agents", instance="10.0.0.8:9091"')}`]: '3 4x30',
    },
    silent: '5m',
    fires: '7m',
  },
  {
    alert: 'LyceumCatalogueNotLoading',
    series: { 'lyceum_catalogue_looks_total{namespace="flow", gateway="agents", result="failed"}': '0 0+60x30' },
    silent: '5m',
    fires: '9m',
  },
  {
    alert: 'LyceumServerSlow',
    series: {
      [`lyceum_request_seconds_bucket${at('gateway="agents", method="tools/call", le="1"')}`]: '0+50x40',
      [`lyceum_request_seconds_bucket${at('gateway="agents", method="tools/call", le="2.5"')}`]: '0+100x40',
      [`lyceum_request_seconds_bucket${at('gateway="agents", method="tools/call", le="+Inf"')}`]: '0+100x40',
      [`lyceum_request_seconds_bucket${at('gateway="calm", method="subscriptions/listen", le="1"')}`]: '0x40',
      [`lyceum_request_seconds_bucket${at('gateway="calm", method="subscriptions/listen", le="+Inf"')}`]: '0+100x40',
    },
    silent: '9m',
    fires: '13m',
  },
  {
    alert: 'LyceumLiveFailing',
    series: { [`lyceum_live_failures_total${at('gateway="agents", source="cloud", reason="TimedOut"')}`]: '0+1x60' },
    silent: '25m',
    fires: '35m',
  },
  {
    alert: 'LyceumDownloadsLost',
    series: { [`lyceum_downloads_lost_total${server}`]: '0x10 4x20' },
    silent: '9m',
    fires: '12m',
  },
  {
    alert: 'LyceumNoOperator',
    // Another release works, and controllers of others do.
    series: {
      'controller_runtime_max_concurrent_reconciles{namespace="skills", controller="skillsource"}': '4x10 _x30',
      'controller_runtime_max_concurrent_reconciles{namespace="other", controller="skillsource"}': '4x40',
      'controller_runtime_max_concurrent_reconciles{namespace="skills", controller="certificate"}': '1x40',
    },
    silent: '12m',
    fires: '22m',
  },
  {
    alert: 'LyceumReconcileErrors',
    series: {
      'controller_runtime_reconcile_errors_total{namespace="skills", controller="skillsource"}': '0+1x60',
      'controller_runtime_reconcile_errors_total{namespace="skills", controller="certificate"}': '0+1x60',
    },
    silent: '14m',
    fires: '18m',
  },
  {
    alert: 'LyceumOperatorFault',
    series: { 'controller_runtime_reconcile_panics_total{namespace="skills", controller="skillgateway"}': '0x5 1x20' },
    silent: '4m',
    fires: '8m',
  },
  {
    alert: 'LyceumWatchSilent',
    series: {
      'lyceum_watch_last_event_timestamp_seconds{namespace="skills", pod="a", instance="10.0.0.5:9090", resource="skillsources"}':
        '0x40',
      'lyceum_watch_last_event_timestamp_seconds{namespace="skills", pod="a", instance="10.0.0.5:9090", resource="skillgateways"}':
        '0+60x40',
    },
    silent: '14m',
    fires: '17m',
  },
  {
    alert: 'LyceumQueueSlow',
    series: {
      'workqueue_queue_duration_seconds_bucket{namespace="skills", controller="skillsource", le="100"}': '0+1x60',
      'workqueue_queue_duration_seconds_bucket{namespace="skills", controller="skillsource", le="1000"}': '0+10x60',
      'workqueue_queue_duration_seconds_bucket{namespace="skills", controller="skillsource", le="+Inf"}': '0+10x60',
    },
    silent: '14m',
    fires: '20m',
  },
  {
    alert: 'LyceumEventLoopLag',
    // Every program in Node has the metric; those of others are none of ours.
    series: {
      [`nodejs_eventloop_lag_p99_seconds${server}`]: '0 2x30',
      [`lyceum_catalogue_generation${server}`]: '1x31',
      'nodejs_eventloop_lag_p99_seconds{namespace="shop", instance="10.0.9.9:3000"}': '5x31',
    },
    silent: '5m',
    fires: '7m',
  },
  {
    alert: 'LyceumVolumeFilling',
    series: {
      'lyceum_volume_free_bytes{namespace="skills", pod="a"}': '20 14x40',
      'lyceum_volume_capacity_bytes{namespace="skills", pod="a"}': '100x41',
      // One that stands by has not looked.
      'lyceum_volume_free_bytes{namespace="skills", pod="b"}': '0x41',
      'lyceum_volume_capacity_bytes{namespace="skills", pod="b"}': '0x41',
    },
    silent: '15m',
    fires: '17m',
  },
  {
    alert: 'LyceumVolumeFailed',
    series: {
      'lyceum_volume_failed{namespace="skills", pod="a"}': '0 1x20',
      'lyceum_volume_failed{namespace="skills", pod="b"}': '0x21',
    },
    silent: '2m',
    fires: '4m',
  },
];
